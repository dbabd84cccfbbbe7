export const CreatePage = () => <h1>Create a model</h1>;
